// The size callback of a queuing strategy.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `new ReadableStream({ start(controller) { controller.enqueue('x'); } }, { size() { for (;;); } }); return new Response('late');`,
);
