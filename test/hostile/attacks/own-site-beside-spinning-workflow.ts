// A run of a workflow that spins, beside requests to the same deployment.
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(['workflow'], 'for (;;);', 'cpu_limit_exceeded');
