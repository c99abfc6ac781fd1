// A listener of unhandledrejection.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `addEventListener('unhandledrejection', () => { for (;;); }); Promise.reject(new Error('x')); await scheduler.wait(3000); return new Response('late');`,
);
