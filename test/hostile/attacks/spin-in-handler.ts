// An endless loop in the handler.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`for (;;);`);
