"""The embedding matrices of a system and its output layer.

    >>> words = Embeddings(Config(vocab_size=500), embed=64)
    >>> words.source(torch.tensor([[7, 8, 3]])).shape
    torch.Size([1, 3, 64])
    >>> words.logits(torch.zeros(1, 5, 64)).shape
    torch.Size([1, 5, 500])

With `tied`, source embeddings, target embeddings and the output layer share one matrix (Press and Wolf 2017;
Vaswani et al. 2017). An output layer needs small weights, but embeddings should have a standard deviation of
1. So the rows are initialised with a standard deviation of 1/√embed, and embeddings are multiplied by √embed.
"""

from __future__ import annotations

import math

from torch import nn
from torch.nn import functional as F

from course_lib.models.config import Config
from course_lib.shapes import Float, Int, Tensor


class Embeddings(nn.Module):
    """The embeddings of a translator, or of a language model, which has no source (`reads_source=False`).

    `dropout` overrides the configuration's.
    """

    def __init__(
        self, config: Config, *, embed: int, dropout: float | None = None, reads_source: bool = True
    ):
        super().__init__()
        vocab_size, tied = config.vocab_size, config.tied
        self.output = nn.Linear(embed, vocab_size)
        self.source_table = None if tied or not reads_source else nn.Embedding(vocab_size, embed)
        self.target_table = None if tied else nn.Embedding(vocab_size, embed)
        for table in (self.output, self.source_table, self.target_table):
            if table is not None:
                nn.init.normal_(table.weight, std=embed**-0.5)
        nn.init.zeros_(self.output.bias)
        self.scale = math.sqrt(embed)
        self.dropout = nn.Dropout(config.dropout if dropout is None else dropout)

    def source(self, tokens: Int[Tensor, "... src"]) -> Float[Tensor, "... src embed"]:
        return self._look_up(tokens, self.source_table)

    def target(self, tokens: Int[Tensor, "... tgt"]) -> Float[Tensor, "... tgt embed"]:
        return self._look_up(tokens, self.target_table)

    def logits(self, features: Float[Tensor, "... embed"]) -> Float[Tensor, "... vocab"]:
        return self.output(features)

    def _look_up(self, tokens: Tensor, own_table: nn.Embedding | None) -> Tensor:
        table = self.output if own_table is None else own_table
        return self.dropout(F.embedding(tokens, table.weight) * self.scale)
