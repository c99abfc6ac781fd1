// The cancel callback of a stream.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const stream = new ReadableStream({ cancel() { for (;;); } }); await stream.cancel(); return new Response('late');`,
);
