// Timers of no delay that set themselves again, each with a little work.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const again = () => { const until = performance.now() + 2; while (performance.now() < until); setTimeout(again, 0); }; again(); await scheduler.wait(60_000); return new Response('late');`,
);
