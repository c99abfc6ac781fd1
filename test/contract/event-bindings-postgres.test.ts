// Queues, timers and workflows inside an isolate, over Postgres as the role that engines have.
import { eventsInPostgres } from '#test/setup/events-postgres.ts';
import { eventBindingsContract } from './event-bindings.ts';

eventBindingsContract(eventsInPostgres());
