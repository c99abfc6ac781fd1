// A thousand polite requests, then a spin in a first entry.
import { turncoat } from '#test/setup/hostile.ts';

export default turncoat(
  `globalThis.count = (globalThis.count ?? 0) + 1; if (globalThis.count > 1000) for (;;); return new Response('polite');`,
);
