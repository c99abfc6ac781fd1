// Age of the routes of this machine, as its mirror reports it. Called for the health check and the announcement of the
// machine.
import type { SupervisorState } from '../engines/state.ts';

/** The age in whole seconds; null if no mirror runs here. */
export function routesAgeSeconds(services: SupervisorState['services']): number | null {
  const figures = services.flatMap((service) => service.figures ?? []);
  const age = figures.find(([name]) => name === 'platform_routes_age_seconds')?.[2];
  return age === undefined ? null : Math.round(age);
}
