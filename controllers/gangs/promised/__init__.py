"""The one account of promised room: claims, victims, grants, and what is left."""
