// Text compressed at Brotli's best quality, which takes a second a megabyte, through ten streams at a time.
import { spinner, hostWorkAnswers } from '#test/setup/hostile.ts';

export default spinner(
  `const one = async () => { for (;;) await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('brotli'))).arrayBuffer(); }; await Promise.all(Array.from({ length: 10 }, one));`,
  `const text = Array.from({ length: 30_000 }, (_, i) => '<li id="' + (i * 7919 % 9973) + '">' + Math.sqrt(i) + '</li>').join('');`,
  hostWorkAnswers,
);
