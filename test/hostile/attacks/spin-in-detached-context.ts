// A callback bound to the context of the top level: its budget is the startup limit's, and the request it starved is
// told of it.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const snapshot = globalThis.unbound; setTimeout(() => snapshot(() => { for (;;); }), 1); await scheduler.wait(3000); return new Response('late');`,
  `globalThis.unbound = AsyncLocalStorage.snapshot();`,
  '503 isolate_replaced',
);
