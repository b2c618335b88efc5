// What a visitor types: the words of the toy language, offers, and which words of a translation are wrong.

export const LONGEST_SOURCE = 40;

export function readSentence(text) {
  const plain = text.toLowerCase().replace(/(?<!ca)n['’]t\b/g, " not").replace(/[.,;:!"“”()]/g, " ").replace(/\?/g, " ? ");
  return plain.split(/\s+/).filter(Boolean);
}

// Words to go on with: those that often come next or, after a part of a word, those that begin like it.
export function offers(text, { english, followers }, count = 8) {
  const words = text.toLowerCase().split(/\s+/);
  const begun = words.pop();
  if (english.includes(begun)) return (followers.get(begun) ?? []).slice(0, count);
  const likely = followers.get(words.at(-1) ?? "") ?? [];
  return [...new Set([...likely, ...(begun ? english : [])])].filter((word) => word.startsWith(begun)).slice(0, count);
}

// Words that look like an unknown one, then words that often come after the one before it.
export function instead(unknown, before, { english, followers }, count = 5) {
  const ranked = english.map((word) => [distance(unknown, word), word]).sort((a, b) => a[0] - b[0]);
  const near = ranked.filter(([steps]) => steps < Math.min(3, unknown.length)).map(([, word]) => word);
  return [...new Set([...near, ...(followers.get(before) ?? [])])].slice(0, count);
}

// How many letters must be added, removed or replaced.
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (letter !== b[j])));
    row = next;
  }
  return row.at(-1);
}

// The words of a translation that aren't part of the longest common subsequence with a right translation, and how
// many words are wrong or missing. The first `unjudged` words of the right translation are only a guess.
export function compare(words, right, unjudged = 0) {
  const longest = Array.from({ length: words.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = words.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      longest[i][j] = words[i] === right[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const wrong = new Set();
  let missing = 0;
  for (let i = 0, j = 0; i < words.length || j < right.length; ) {
    if (i < words.length && j < right.length && words[i] === right[j]) [i, j] = [i + 1, j + 1];
    else if (j >= right.length || (i < words.length && longest[i + 1][j] >= longest[i][j + 1])) {
      if (j > unjudged || !unjudged) wrong.add(i);
      i += 1;
    } else {
      if (j >= unjudged) missing += 1;
      j += 1;
    }
  }
  return { wrong, missing, count: Math.max(wrong.size, missing) };
}
