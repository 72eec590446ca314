"""The profiles that come with groundspeed, one YAML file each; `storage.catalogue` reads them."""
