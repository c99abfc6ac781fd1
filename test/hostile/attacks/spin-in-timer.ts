// Timers that spin while the handler waits.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`setTimeout(() => { for (;;); }, 1); await scheduler.wait(3000); return new Response('late');`);
