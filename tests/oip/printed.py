"""The examples that the specifications of the ops print, as whole IR."""

import numpy as np
from ir import as_printed

TRANSPOSE = """<layer ... type="Transpose">
     <input>
         <port id="0"><dim>2</dim><dim>3</dim><dim>4</dim></port>
         <port id="1"><dim>{}</dim>  < !-- {} -->
         </port>
     </input>
     <output>
         <port id="2">{}</port>
     </output>
 </layer>"""
SHUFFLE = """<layer ... type="ShuffleChannels" ...>
     <data group="3" axis="1"/>
     <input>
         <port id="0">
             <dim>5</dim> <dim>12</dim> <dim>200</dim> <dim>400</dim>
         </port>
     </input>
     <output>
         <port id="1">
             <dim>5</dim> <dim>12</dim> <dim>200</dim> <dim>400</dim>
         </port>
     </output>
 </layer>"""
SPLIT = """<layer id="1" type="VariadicSplit" ...>
<input>
<port id="0">            <!-- some data -->
<dim>6</dim> <dim>12</dim> <dim>10</dim> <dim>24</dim>
</port>
<port id="1">            <!-- axis: 0 -->
</port>
<port id="2">
<dim>{}</dim>
</port>
</input>
<output>{}</output>
</layer>"""


def dims(*extents: int) -> str:
    return "".join(f"<dim>{n}</dim>" for n in extents)


def split_layer(*lengths: int) -> str:
    return SPLIT.format(len(lengths), "".join(
        f'<port id="{3 + k}">{dims(n, 12, 10, 24)}</port>'
        for k, n in enumerate(lengths)))


def specifications() -> dict:
    """name -> (IR, shape of the input, NumPy that does the same)."""
    i64 = np.int64
    return {
        "transpose_1": (as_printed(
            TRANSPOSE.format(3, "[2, 0, 1]", dims(4, 2, 3)), [2, 3, 4],
            [np.array([2, 0, 1], i64)], 1), lambda x: [x.transpose(2, 0, 1)]),
        "transpose_2": (as_printed(
            TRANSPOSE.format(0, "input_order is an empty 1D tensor",
                             dims(4, 3, 2)), [2, 3, 4],
            [np.zeros(0, i64)], 1), lambda x: [x.transpose()]),
        "shuffle_channels": (as_printed(SHUFFLE, [5, 12, 200, 400], [], 1),
                             lambda x: [x.reshape(5, 3, 4, -1).swapaxes(1, 2)
                                        .reshape(x.shape)]),
        "variadic_split_1": (as_printed(
            split_layer(1, 2, 3), [6, 12, 10, 24],
            [np.array(0, i64), np.array([1, 2, 3], i64)], 3),
            lambda x: np.split(x, [1, 3])),
        "variadic_split_2": (as_printed(
            split_layer(4, 2), [6, 12, 10, 24],
            [np.array(0, i64), np.array([-1, 2], i64)], 2),
            lambda x: np.split(x, [4])),
    }
