"""Reads every task of an export with the parser of verifiers, and prints what it makes of each as JSON.

`python read.py EXPORT [--ignore-dockerfile]` in the environment of requirements.txt beside it.
"""

import json
import sys
from pathlib import Path

from verifiers.v1.tasksets.harbor.taskset import HarborConfig, parse_task

export, *flags = sys.argv[1:]
config = HarborConfig(ignore_dockerfile="--ignore-dockerfile" in flags)
read, refused = {}, {}
for number, folder in enumerate(sorted((Path(export) / "tasks").iterdir())):
    try:
        task = parse_task(folder, number, config)
    except ValueError as error:
        refused[folder.name] = str(error)
        continue
    read[folder.name] = {
        "name": task.name,
        "image": task.image,
        "verifier_image": task.verifier_image,
        "verifier_env": task.verifier_env,
        "separate": task.verifier is not None,
        "artifacts": [f"{artifact.service}:{artifact.source}" for artifact in task.artifacts],
    }
print(json.dumps({"read": read, "refused": refused}))
