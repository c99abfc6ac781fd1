// A callback bound to no context at all, to be charged to nobody.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const snapshot = globalThis.unbound; setTimeout(() => snapshot(() => { for (;;); }), 1); await scheduler.wait(3000); return new Response('late');`,
  `globalThis.unbound = AsyncLocalStorage.snapshot();`,
);
