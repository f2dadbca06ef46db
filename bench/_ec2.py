"""An EC2 that has 10,000 instances in pages made beforehand; as a process of its own, so that its CPU is not counted.

``python -m bench._ec2 COUNT`` prints its port. Other listings are empty. A GET tells how often each action was called
since the last GET.
"""

import json
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs

PAGE = 1_000
_NS = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'
_ROLES = ("dev", "train", "serve", "ci")
_INSTANCE = """<item><reservationId>r-{n:017x}</reservationId><ownerId>123456789012</ownerId><groupSet/>
<instancesSet><item><instanceId>i-{n:017x}</instanceId><imageId>ami-0abcdef1234567890</imageId><instanceState><code>16</code>
<name>running</name></instanceState><privateDnsName>ip-10-0-{b}-{c}.ec2.internal</privateDnsName><dnsName/><reason/><keyName>team</keyName>
<amiLaunchIndex>0</amiLaunchIndex><productCodes/><instanceType>g5.xlarge</instanceType>
<launchTime>2026-03-01T08:{m:02d}:00.000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone><groupName/>
<tenancy>default</tenancy></placement><monitoring><state>disabled</state></monitoring><subnetId>subnet-0a1b2c3d</subnetId>
<vpcId>vpc-0a1b2c3d</vpcId><privateIpAddress>10.0.{b}.{c}</privateIpAddress><sourceDestCheck>true</sourceDestCheck><groupSet>
<item><groupId>sg-0123456789abcdef0</groupId><groupName>gpu</groupName></item></groupSet><architecture>x86_64</architecture>
<rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/sda1</rootDeviceName><blockDeviceMapping><item>
<deviceName>/dev/sda1</deviceName><ebs><volumeId>vol-{n:017x}</volumeId><status>attached</status>
<attachTime>2026-03-01T08:{m:02d}:01.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></ebs></item>
</blockDeviceMapping><virtualizationType>hvm</virtualizationType><clientToken/><tagSet>
<item><key>Name</key><value>{role}-{n}</value></item><item><key>role</key><value>{role}</value></item>
<item><key>owner</key><value>dev{o}</value></item><item><key>team</key><value>vision</value></item></tagSet>
<hypervisor>xen</hypervisor><networkInterfaceSet><item><networkInterfaceId>eni-{n:017x}</networkInterfaceId>
<subnetId>subnet-0a1b2c3d</subnetId><vpcId>vpc-0a1b2c3d</vpcId><description/><ownerId>123456789012</ownerId>
<status>in-use</status><macAddress>02:00:00:00:00:01</macAddress><privateIpAddress>10.0.{b}.{c}</privateIpAddress>
<sourceDestCheck>true</sourceDestCheck><groupSet><item><groupId>sg-0123456789abcdef0</groupId><groupName>gpu</groupName></item>
</groupSet><attachment><attachmentId>eni-attach-{n:017x}</attachmentId><deviceIndex>0</deviceIndex><status>attached</status>
<attachTime>2026-03-01T08:{m:02d}:00.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></attachment>
<interfaceType>interface</interfaceType></item></networkInterfaceSet><ebsOptimized>true</ebsOptimized>
<enaSupport>true</enaSupport><cpuOptions><coreCount>2</coreCount><threadsPerCore>2</threadsPerCore></cpuOptions>
<hibernationOptions><configured>false</configured></hibernationOptions><metadataOptions><state>applied</state>
<httpTokens>required</httpTokens><httpPutResponseHopLimit>1</httpPutResponseHopLimit><httpEndpoint>enabled</httpEndpoint>
</metadataOptions><enclaveOptions><enabled>false</enabled></enclaveOptions></item></instancesSet></item>"""

_OTHERS = {
    "DescribeInstanceTypes": """<instanceTypeSet><item><instanceType>g5.xlarge</instanceType><vCpuInfo>
<defaultVCpus>4</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>16384</sizeInMiB></memoryInfo><gpuInfo><gpus><item>
<name>A10G</name><manufacturer>NVIDIA</manufacturer><count>1</count><memoryInfo><sizeInMiB>24576</sizeInMiB></memoryInfo>
</item></gpus><totalGpuMemoryInMiB>24576</totalGpuMemoryInMiB></gpuInfo></item></instanceTypeSet>""",
    "DescribeVolumes": "<volumeSet/>",
    "DescribeCapacityReservations": "<capacityReservationSet/>",
    "DescribeSnapshots": "<snapshotSet/>",
    "DescribeAddresses": "<addressesSet/>",
    "DescribeNatGateways": "<natGatewaySet/>",
    "DescribeRegions": "<regionInfo><item><regionName>us-east-1</regionName><regionEndpoint>x</regionEndpoint>"
    "<optInStatus>opt-in-not-required</optInStatus></item></regionInfo>",
}  # fmt: skip


def pages(count: int) -> list[bytes]:
    """The answers to DescribeInstances, one for each page."""
    made: list[bytes] = []
    for first in range(0, count, PAGE):
        numbers = range(first, min(first + PAGE, count))
        items = "".join(
            _INSTANCE.format(n=n, b=n // 250, c=n % 250, m=n % 60, o=n % 9, role=_ROLES[n % 4]) for n in numbers
        )
        token = f"<nextToken>{len(made) + 1}</nextToken>" if numbers[-1] + 1 < count else ""
        made.append(_answer("DescribeInstances", f"<reservationSet>{items}</reservationSet>{token}"))
    return made


def _answer(action: str, body: str) -> bytes:
    return f"<{action}Response {_NS}><requestId>r</requestId>{body}</{action}Response>".encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages: ClassVar[list[bytes]] = []
    calls: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self._send(json.dumps(self.calls).encode(), "application/json")
        self.calls.clear()

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        asked = parse_qs(text)
        action = asked.get("Action", [""])[0]
        self.calls[action] += 1
        if action == "GetCallerIdentity":
            body = (
                b'<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
                b"<Arn>arn:aws:iam::123456789012:user/bench</Arn><UserId>AIDA</UserId><Account>123456789012</Account>"
                b"</GetCallerIdentityResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>"
                b"</GetCallerIdentityResponse>"
            )
        elif action == "DescribeInstances":
            body = self.pages[int(asked.get("NextToken", ["0"])[0])]
        else:
            body = _answer(action, _OTHERS.get(action, ""))
        self._send(body, "text/xml")

    def _send(self, body: bytes, type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


if __name__ == "__main__":
    Handler.pages = pages(int(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
