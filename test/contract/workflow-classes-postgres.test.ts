// Queues, timers and workflows inside an isolate, over Postgres as the role that engines have.
import { eventsInPostgres } from '#test/setup/events-postgres.ts';
import { workflowClassesContract } from './workflow-classes.ts';

workflowClassesContract(eventsInPostgres());
