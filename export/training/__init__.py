"""Training of the projection experts on a person's own album (paper section 3.4): `gamer train`.

`pairs` reads ⟨photo, memory⟩ from an album, `features` runs the frozen image tower over the photos once,
`projection` is what is trained, `start` its closed-form beginning, `sft` the supervised fine-tuning, `loop`
goes over the `losses`, and `run_folder` keeps its state, so that a killed training goes on. `update` goes on
from what was searched and opened, `queries` trains the text tower's query side, `refinement/` the language
model by rewards. What comes out of the experts is the directory that `gamer export --weights dpe=DIR` takes.
"""
