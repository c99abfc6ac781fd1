// How old the routes of this machine are, as its mirror reports it. Called for its health and its announcement.
import type { SupervisorState } from '../engines/state.ts';

/** Whole seconds; null: no mirror runs here. */
export function routesAgeSeconds(services: SupervisorState['services']): number | null {
  const figures = services.flatMap((service) => service.figures ?? []);
  const age = figures.find(([name]) => name === 'platform_routes_age_seconds')?.[2];
  return age === undefined ? null : Math.round(age);
}
