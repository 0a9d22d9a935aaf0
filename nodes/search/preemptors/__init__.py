"""Who asks for room: the group or pod, its members, and pods that are only supposed."""
