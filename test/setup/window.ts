// What counts in windows of time (so many a minute), asked about within one of them.

/**
 * Runs something whose outcome counts in fixed windows; where one ended meanwhile, it is run again.
 *
 * @param run gets another number each time: what was counted before is not to count again
 * @example await withinWindow(60, (round) => statusesOf(`192.0.2.${round}`))
 */
export async function withinWindow<Result>(seconds: number, run: (round: number) => Promise<Result>): Promise<Result> {
  const windowNow = (): number => Math.floor(Date.now() / 1000 / seconds);
  for (let round = 1; ; round++) {
    const begun = windowNow();
    const result = await run(round);
    if (begun === windowNow()) return result;
  }
}
