// The same in a continuation.
import { turncoat } from '#test/setup/hostile.ts';

export default turncoat(
  `globalThis.count = (globalThis.count ?? 0) + 1; const mine = globalThis.count; await scheduler.wait(1); if (mine > 1000) for (;;); return new Response('polite');`,
);
