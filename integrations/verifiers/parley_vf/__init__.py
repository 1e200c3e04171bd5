"""Parley in verifiers: `eval parley_vf --env.taskset.family contract --model MODEL`."""

from parley_vf.env import ParleyEnv, ParleyEnvConfig
from parley_vf.speaking import SpeakingHarness
from parley_vf.taskset import ParleyTaskset, ParleyTasksetConfig

__all__ = ["ParleyEnv", "ParleyEnvConfig", "ParleyTaskset", "ParleyTasksetConfig", "SpeakingHarness"]
