// A listener of an AbortSignal.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const controller = new AbortController(); controller.signal.addEventListener('abort', () => { for (;;); }); controller.abort(); return new Response('late');`,
);
