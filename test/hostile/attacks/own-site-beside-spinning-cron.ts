// A schedule that spins, beside requests to the same deployment.
import { eventsAgainstOwnSite } from '#test/setup/hostile-events.ts';

export default eventsAgainstOwnSite(['cron'], 'for (;;);', 'cpu_limit_exceeded');
