// Inside AsyncLocalStorage.run, which has a context of its own.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const { AsyncLocalStorage } = globalThis; const storage = new AsyncLocalStorage(); return storage.run({}, async () => { await null; for (;;); });`,
);
