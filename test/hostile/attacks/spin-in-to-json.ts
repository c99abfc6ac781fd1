// A toJSON that never returns.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return Response.json({ toJSON() { for (;;); } });`);
