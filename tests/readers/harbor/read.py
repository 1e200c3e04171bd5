"""Reads an export with Harbor's own registry client, manifest, task model and packager, and prints what they say as JSON.

`python read.py EXPORT` in the environment of requirements.txt beside it.
"""

import asyncio
import json
import sys
from pathlib import Path

from harbor.models.dataset.manifest import DatasetManifest
from harbor.models.task.task import Task
from harbor.publisher.packager import Packager
from harbor.registry.client.json import JsonRegistryClient

export = Path(sys.argv[1])
client = JsonRegistryClient(path=export / "registry.json")
sets = {}
for summary in asyncio.run(client.list_datasets()):
    metadata = asyncio.run(client.get_dataset_metadata(f"{summary.name}@{summary.version}"))
    sets[summary.name] = [task.path.as_posix() for task in metadata.task_ids]
told = {"sets": sets}
if (export / "dataset.toml").exists():
    manifest = DatasetManifest.from_toml_file(export / "dataset.toml")
    told["manifest"] = {task.name: task.digest for task in manifest.tasks}
    told["files"] = {file.path: file.digest for file in manifest.files}
    folders = sorted((export / "tasks").iterdir())
    told["packaged"] = {Task(folder).name: f"sha256:{Packager.compute_content_hash(folder)[0]}" for folder in folders}
    told["metric"] = f"sha256:{Packager.compute_file_hash(export / 'metric.py')}"
print(json.dumps(told))
