"""What moto's EC2 lacks of what a listing asks for, so that its server answers as an account without such things."""

import pytest
from moto.ec2.responses import EC2Response

_NONE = (
    '<DescribeCapacityReservationsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
    "<requestId>r</requestId><capacityReservationSet/></DescribeCapacityReservationsResponse>"
)


def complete(patch: pytest.MonkeyPatch) -> None:
    """Teaches moto's servers in this process to list no capacity reservations, until ``patch`` is undone."""

    def none(self: EC2Response) -> str:
        self.error_on_dryrun()
        return _NONE

    patch.setattr(EC2Response, "describe_capacity_reservations", none, raising=False)
