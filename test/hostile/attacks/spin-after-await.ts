// An endless loop after an await: a continuation, not the first entry.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`await scheduler.wait(1); for (;;);`);
