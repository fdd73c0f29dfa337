"""Puts the activities of a debug manifest into another one: debug_manifest.py DEBUG.xml MANIFEST.xml."""

import sys
import xml.etree.ElementTree as ElementTree

ElementTree.register_namespace("android", "http://schemas.android.com/apk/res/android")
debug, path = ElementTree.parse(sys.argv[1]), sys.argv[2]
manifest = ElementTree.parse(path)
application = manifest.getroot().find("application")
if application is None:
    sys.exit(f"{path}: no <application>")
application.extend(debug.getroot().iter("activity"))
manifest.write(path, encoding="utf-8", xml_declaration=True)
