// A response stream whose pull never returns: before its first byte the answer is an error.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const stream = new ReadableStream({ pull() { for (;;); } }, { highWaterMark: 0 }); await stream.getReader().read(); return new Response('late');`,
);
