"""The Transformer that the learner's functions from lesson 14 compute, as a file that lesson 15 can train.

Its parameters are those of lesson 14's reference file. `encode_source` and `decode_logits` get them as a
dictionary by name, as they do in lesson 14; where the learner hasn't passed an exercise, the library's
function computes.
"""

import io
from contextlib import redirect_stdout

from course_lib.teaching import yours
from lessons.l14_the_transformer import reference_transformer

with redirect_stdout(io.StringIO()):  # whose functions they are, lesson 14 has said
    encode_source, decode_logits = yours("encode_source"), yours("decode_logits")


class Transformer(reference_transformer.Transformer):
    def __init__(self, vocab_size, d_model=64, n_heads=4, d_ff=256, n_layers=3, dropout=0.0):
        super().__init__(vocab_size, d_model, n_heads, d_ff, n_layers, dropout)
        self.sizes = n_heads, n_layers

    def encode(self, source, mask):
        return encode_source(source, dict(self.named_parameters()), *self.sizes, mask)

    def decode(self, target, memory, mask):
        return decode_logits(target, memory, dict(self.named_parameters()), *self.sizes, mask)
