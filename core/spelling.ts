// Finds the most likely intended word, for "did you mean" hints. Pure; short words only.

/** Words longer than this are never compared: the cost grows with the product of both lengths. */
const LENGTH_MAX = 40;

/**
 * The candidate closest to a misspelled word, or undefined if none is close. Case, `-` and `_` are ignored.
 *
 * @example nearestWord('compatabilityDate', ['kind', 'compatibility_date']) // 'compatibility_date'
 */
export function nearestWord(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > LENGTH_MAX) return undefined;
  const plain = plainWord(word);
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(plain, plainWord(candidate));
    if (distance < least && distance < plain.length) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

function plainWord(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}

/** Number of insertions, deletions, replacements and transpositions that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
