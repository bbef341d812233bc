"""The pipeline of the settings file that `SENSORS_SETTINGS` names, for Holdfast's commands.

SENSORS_SETTINGS=sensors.toml holdfast prove examples.sensors.deployed:pipeline
"""

from __future__ import annotations

import os

from examples.sensors.guarded import make_pipeline
from examples.sensors.settings import load_settings

pipeline = make_pipeline(load_settings(os.environ["SENSORS_SETTINGS"]))
