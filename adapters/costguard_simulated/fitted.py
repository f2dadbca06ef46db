"""Numbers fitted to published traces; the README names their origin and licence. No data is kept here.

Nothing else in the package may invent a distribution: what no public data tells is marked *assumed*.
"""

import math
from random import Random

# Run times of 83,152 GPU jobs (Philly, in the analysis files of Alibaba's cluster-trace-gpu-v2020): a mixture of three
# log-normals in seconds, by expectation maximisation (log-likelihood per job -1.1075; two components reach -1.1425).
JOB_RUN_TIME = ((0.161, 4.172, 0.160), (0.214, 7.581, 0.554), (0.625, 7.281, 2.298))

# GPU_UTIL quantiles (AcmeTrace): share of samples below 5 %, between 5 and 90 %, from 90 % on.
TRAINING_UTIL = (0.32, 0.04, 0.64)  # Seren
SHARED_UTIL = (0.35, 0.41, 0.24)  # Philly

# Requests to a chat model (AzureLLMInferenceDataset2023, conversations): mean rate and the gaps' coefficient of
# variation, which is close to a Poisson process's 1.
CHAT_REQUESTS_PER_SECOND = 5.53
CHAT_GAP_VARIATION = 1.09

# Assumed: nobody has published the pauses of people at development boxes. Median and sigma of a log-normal, seconds.
DEVELOPER_PAUSE = (math.log(12 * 60), 0.9)
QUEUE_PAUSE = (math.log(3 * 60), 0.8)


def job_seconds(rng: Random, longest: float) -> float:
    """A job's run time, cut at ``longest`` seconds."""
    (_, mu, sigma), *_ = rng.choices(JOB_RUN_TIME, weights=[component[0] for component in JOB_RUN_TIME])
    return min(longest, rng.lognormvariate(mu, sigma))


def job_util(rng: Random, shares: tuple[float, float, float]) -> float:
    """A job's typical GPU utilisation in percent; 0 for one that does not touch its GPU."""
    low, middle, _ = shares
    pick = rng.random()
    if pick < low:
        return 0.0
    if pick < low + middle:
        return rng.uniform(10.0, 85.0)
    return rng.uniform(90.0, 100.0)


def pause_seconds(rng: Random, shape: tuple[float, float]) -> float:
    return rng.lognormvariate(*shape)
