// Repeatable randomness for differential tests: the seed is printed with a failure and can be set with FUZZ_SEED.
// FUZZ_TIMES=10 has each test try ten times as many inputs.

export interface SeededRandom {
  readonly seed: number;
  /** A whole number below the bound. */
  below(bound: number): number;
  pick<T>(list: readonly T[]): T;
  /** A text of up to `most` pieces of the list. */
  text(pieces: readonly string[], most: number): string;
}

export function createSeededRandom(): SeededRandom {
  const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000_007);
  let state = seed >>> 0;
  const below = (bound: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  return {
    seed,
    below,
    pick,
    text: (pieces, most) => Array.from({ length: 1 + below(most) }, () => pick(pieces)).join(''),
  };
}

/** How many inputs a test tries: so many in the quick rung, more in the suite `fuzz`. */
export function fuzzRounds(quick: number): number {
  return quick * Number(process.env['FUZZ_TIMES'] ?? 1);
}
