// Runs a limited number of tasks at a time; the others wait in order.

/** @example const limited = createLimited(8); await limited(() => fetchOne(id)); */
export function createLimited(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // The slot passes to the next task.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
