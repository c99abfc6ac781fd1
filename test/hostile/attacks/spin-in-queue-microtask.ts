// queueMicrotask without end.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const again = () => queueMicrotask(again); again(); await scheduler.wait(1); return new Response('late');`,
);
