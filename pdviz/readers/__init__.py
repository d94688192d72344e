"""Somebody's file in, an architecture out. The cost model never imports a reader."""
