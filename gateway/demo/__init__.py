"""The main job on embedded defaults: a local Lark, a gateway and two sample peers, each a process of its own."""
