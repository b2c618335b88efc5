// Three trained translators in plain JavaScript: seq2seq (one vector), Bahdanau's system (attention) and the
// Transformer. They compute what course_lib computes, with the same names for the weights; docs/site.md explains
// the format. A vector is a Float32Array, a matrix one with `rows` and `columns`, a sentence an array of vectors.

const BOS = 2;
const EOS = 3;
const LONGEST = 64; // tokens of a translation, with the end of the sentence

// ---- the weights: numbers in half precision, first all upper bytes, then all lower bytes, compressed, as base64

export async function readWeights({ shapes, data }) {
  const letters = atob(data);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const half = bytes.length / 2;
  const weights = {};
  let start = 0;
  for (const [name, [rows, columns = 1]] of Object.entries(shapes)) {
    const weight = new Float32Array(rows * columns);
    for (let i = 0; i < weight.length; i++) {
      const upper = bytes[start + i];
      weight[i] = SCALES[upper] * (FIRST_BITS[upper] + bytes[half + start + i]);
    }
    start += weight.length;
    weights[name] = Object.assign(weight, { rows, columns });
  }
  return weights;
}

// The upper byte has the sign, five bits of the exponent and two of the fraction; an exponent of 0 hides no leading 1.
const SCALES = Float64Array.from({ length: 256 }, (_, upper) => (upper & 128 ? -1 : 1) * 2 ** (Math.max((upper >> 2) & 31, 1) - 25));
const FIRST_BITS = Float64Array.from({ length: 256 }, (_, upper) => ((upper & 124) ? 1024 : 0) + ((upper & 3) << 8));

// ---- arithmetic

const add = (a, b) => a.map((number, i) => number + b[i]);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const zeros = (n) => new Float32Array(n);

function dot(a, b, start = 0, end = a.length) {
  let sum = 0;
  for (let i = start; i < end; i++) sum += a[i] * b[i];
  return sum;
}

function linear(matrix, vector, bias) {
  const { rows, columns } = matrix;
  const result = zeros(rows);
  for (let row = 0; row < rows; row++) {
    let sum = bias ? bias[row] : 0;
    for (let i = 0, at = row * columns; i < columns; i++) sum += matrix[at + i] * vector[i];
    result[row] = sum;
  }
  return result;
}

function concatenate(...vectors) {
  const result = zeros(vectors.reduce((length, vector) => length + vector.length, 0));
  let start = 0;
  for (const vector of vectors) {
    result.set(vector, start);
    start += vector.length;
  }
  return result;
}

function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function weightedSum(weights, vectors, start = 0, end = vectors[0].length, result = zeros(vectors[0].length)) {
  weights.forEach((weight, j) => {
    for (let i = start; i < end; i++) result[i] += weight * vectors[j][i];
  });
  return result;
}

const mostLikely = (scores) => scores.reduce((best, score, i) => (i > EOS && score > scores[best] ? i : best), EOS);

// ---- layers: `part` is how the names of their weights begin

function embed(weights, token) {
  const table = weights["words.output.weight"]; // the embeddings are the rows of the output layer
  const row = table.slice(token * table.columns, (token + 1) * table.columns);
  return row.map((number) => number * Math.sqrt(table.columns));
}

const layer = (weights, part, vector) => linear(weights[`${part}.weight`], vector, weights[`${part}.bias`]);
const predictWord = (weights, vector) => mostLikely(layer(weights, "words.output", vector));

function sums(weights, part, suffix, input, hidden) {
  const of = (name, vector) => linear(weights[`${part}.weight_${name}${suffix}`], vector, weights[`${part}.bias_${name}${suffix}`]);
  return [of("ih", input), of("hh", hidden)];
}

function gru(weights, part, suffix, input, hidden) {
  const [fromInput, fromHidden] = sums(weights, part, suffix, input, hidden);
  const n = hidden.length;
  return hidden.map((old, i) => {
    const reset = sigmoid(fromInput[i] + fromHidden[i]);
    const update = sigmoid(fromInput[n + i] + fromHidden[n + i]);
    const candidate = Math.tanh(fromInput[2 * n + i] + reset * fromHidden[2 * n + i]);
    return (1 - update) * candidate + update * old;
  });
}

function lstm(weights, part, input, { hidden, cell }) {
  const all = add(...sums(weights, part, "_l0", input, hidden));
  const n = hidden.length;
  const newCell = cell.map((old, i) => sigmoid(all[n + i]) * old + sigmoid(all[i]) * Math.tanh(all[2 * n + i]));
  return { cell: newCell, hidden: newCell.map((number, i) => sigmoid(all[3 * n + i]) * Math.tanh(number)) };
}

function layerNorm(weights, part, vector) {
  const n = vector.length;
  const mean = vector.reduce((a, b) => a + b, 0) / n;
  const variance = vector.reduce((sum, number) => sum + (number - mean) ** 2, 0) / n;
  const [scale, shift] = [weights[`${part}norm.weight`], weights[`${part}norm.bias`]];
  return vector.map((number, i) => ((number - mean) / Math.sqrt(variance + 1e-5)) * scale[i] + shift[i]);
}

// ---- greedy search: `step` reads a word and returns the next one, with its attention weights

function translate(source, step) {
  const longest = Math.min(2 * (source.length + 1) + 10, LONGEST);
  const words = [];
  const maps = [];
  let word = BOS;
  while (maps.length < longest) {
    let attention;
    [word, attention] = step(word, words.length);
    maps.push(attention); // the last one is that of the end of the sentence
    if (word === EOS) break;
    words.push(word);
  }
  return { words, maps };
}

// ---- 2014: the decoder gets the state of the encoder, and nothing else

export function seq2seq(weights, source) {
  const size = weights["to_embed.weight"].columns;
  let states = [0, 1].map(() => ({ hidden: zeros(size), cell: zeros(size) }));
  const read = (part, word) => {
    const lower = lstm(weights, `${part}.layers.0.0`, embed(weights, word), states[0]);
    states = [lower, lstm(weights, `${part}.layers.1.0`, lower.hidden, states[1])];
  };
  for (const word of [...[...source].reverse(), EOS]) read("encoder", word);
  const vector = concatenate(...states.flatMap(({ hidden, cell }) => [hidden, cell]));
  const result = translate(source, (word) => {
    read("decoder", word);
    return [predictWord(weights, layer(weights, "to_embed", states[1].hidden)), null];
  });
  return { ...result, vector };
}

// ---- 2015: at each step, the decoder attends to the annotation of every word

export function bahdanau(weights, source) {
  const embedded = [...source, EOS].map((word) => embed(weights, word));
  const size = weights["score.v"].length;
  const direction = (part, vectors) => {
    let hidden = zeros(size);
    return vectors.map((vector) => (hidden = gru(weights, part, "_l0", vector, hidden)));
  };
  const forward = direction("encoder.layers.0.0", embedded);
  const backward = direction("encoder.layers.0.1", [...embedded].reverse()).reverse();
  const annotations = forward.map((vector, i) => concatenate(vector, backward[i]));
  const keys = annotations.map((annotation) => linear(weights["score.w_key"], annotation));
  let state = layer(weights, "first_state", backward[0]).map(Math.tanh);
  return translate(source, (word) => {
    const query = linear(weights["score.w_query"], state);
    const attention = softmax(keys.map((key) => dot(weights["score.v"], add(query, key).map(Math.tanh))));
    const context = weightedSum(attention, annotations);
    const input = embed(weights, word);
    state = gru(weights, "decoder", "", concatenate(input, context), state);
    const candidates = layer(weights, "maxout.candidates", concatenate(state, input, context));
    const greater = zeros(candidates.length / 2).map((_, i) => Math.max(candidates[2 * i], candidates[2 * i + 1]));
    return [predictWord(weights, greater), attention];
  });
}

// ---- 2017: only attention; the decoder keeps its keys and values from step to step

const N_BLOCKS = 3;
const N_HEADS = 4;

function atPosition(weights, word, position) {
  const vector = embed(weights, word);
  return vector.map((number, i) => {
    const angle = position / 10000 ** ((i - (i % 2)) / vector.length);
    return number + (i % 2 ? Math.cos(angle) : Math.sin(angle));
  });
}

function attend(weights, part, vector, keys, values) {
  const query = linear(weights[`${part}.w_query`], vector);
  const size = query.length / N_HEADS;
  const joined = zeros(query.length);
  const maps = Array.from({ length: N_HEADS }, (_, head) => {
    const [start, end] = [head * size, (head + 1) * size];
    const attention = softmax(keys.map((key) => dot(query, key, start, end) / Math.sqrt(size)));
    weightedSum(attention, values, start, end, joined);
    return attention;
  });
  return { output: linear(weights[`${part}.w_output`], joined), maps };
}

function feedForward(weights, block, vector) {
  const inner = layer(weights, `${block}.feed_forward.inner`, layerNorm(weights, `${block}.around_feed_forward.`, vector));
  return add(vector, layer(weights, `${block}.feed_forward.outer`, inner.map((number) => Math.max(number, 0))));
}

export function transformer(weights, source) {
  const keysAndValues = (part, vectors) => ["w_key", "w_value"].map((name) => vectors.map((vector) => linear(weights[`${part}.${name}`], vector)));
  const blocks = (part) => Array.from({ length: N_BLOCKS }, (_, i) => `${part}.blocks.${i}`);

  let memory = [...source, EOS].map((word, position) => atPosition(weights, word, position));
  for (const block of blocks("encoder")) {
    const normed = memory.map((vector) => layerNorm(weights, `${block}.around_attention.`, vector));
    const [keys, values] = keysAndValues(`${block}.attention`, normed);
    const attended = normed.map((vector) => attend(weights, `${block}.attention`, vector, keys, values).output);
    memory = memory.map((vector, i) => feedForward(weights, block, add(vector, attended[i])));
  }
  memory = memory.map((vector) => layerNorm(weights, "encoder.last_", vector));

  const cached = blocks("decoder").map((block) => ({ own: [[], []], cross: keysAndValues(`${block}.cross`, memory) }));
  return translate(source, (word, position) => {
    let vector = atPosition(weights, word, position);
    const maps = blocks("decoder").map((block, i) => {
      const normed = layerNorm(weights, `${block}.around_attention.`, vector);
      keysAndValues(`${block}.attention`, [normed]).forEach(([added], kind) => cached[i].own[kind].push(added));
      vector = add(vector, attend(weights, `${block}.attention`, normed, ...cached[i].own).output);
      const cross = attend(weights, `${block}.cross`, layerNorm(weights, `${block}.around_cross.`, vector), ...cached[i].cross);
      vector = feedForward(weights, block, add(vector, cross.output));
      return cross.maps;
    });
    return [predictWord(weights, layerNorm(weights, "decoder.last_", vector)), maps];
  });
}
