// A timer that spins, beside requests to the same deployment.
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(['timer'], 'for (;;);', 'cpu_limit_exceeded');
