// Classes of durable objects that moved to another project of the organization. The objects stay where they are stored,
// with their ids. The production of the project that had the class decides which project's code runs them. Pure.
import { firstNameOf, type DeclaredClasses, type ObjectClasses } from './object-classes.ts';

/** A class of another project. */
export interface OtherClass {
  readonly project: string;
  readonly class: string;
}

/** The project to which the objects of a class were moved, or null. @param first name of the class. */
export function transferredTo(classes: ObjectClasses, first: string): OtherClass | null {
  return find(classes, classes.transferred, first);
}

/** The project that stores the objects of a class; null means this project. @param first name of the class. */
export function receivedFrom(classes: ObjectClasses, first: string): OtherClass | null {
  return find(classes, classes.received, first);
}

function find(classes: ObjectClasses, list: ObjectClasses['received'], first: string): OtherClass | null {
  if (list === undefined) return null;
  const found = Object.entries(list).find(([name]) => firstNameOf(classes, name) === first);
  return found === undefined ? null : otherClass(found[1]);
}

/** A class in a manifest's text, such as `shop#ChatRoom`. */
export function otherClass(text: string): OtherClass {
  const [project = '', name = ''] = text.split('#');
  return { project, class: name };
}

/**
 * Whether two manifests agree that objects moved.
 *
 * @param from the project that stores the objects. @param first first name of the class in that project.
 */
export function transferAgrees(
  from: { readonly project: string; readonly classes: ObjectClasses },
  first: string,
  to: { readonly project: string; readonly classes: ObjectClasses },
): boolean {
  const sent = transferredTo(from.classes, first);
  if (sent === null || sent.project !== to.project) return false;
  const received = receivedFrom(to.classes, firstNameOf(to.classes, sent.class));
  return received?.project === from.project && firstNameOf(from.classes, received.class) === first;
}

/** Projects that the classes of a deployment were transferred to, or come from. */
export function transferProjects(...deployments: readonly DeclaredClasses[]): string[] {
  const texts = deployments.flatMap(({ objectClasses: { transferred = {}, received = {} } = {} }) => [
    ...Object.values(transferred),
    ...Object.values(received),
  ]);
  return [...new Set(texts.map((text) => otherClass(text).project))];
}

/**
 * Why the state of other projects prevents a deployment from becoming production; null if nothing prevents it.
 *
 * @param now production, before. @param productionOf the production deployment of another project of the same owner, or
 * null.
 */
export function transferObjection(
  project: string,
  now: DeclaredClasses | null,
  next: DeclaredClasses & { readonly release?: unknown },
  productionOf: (project: string) => DeclaredClasses | null,
): string | null {
  const own = { project, classes: next.objectClasses ?? {} };
  const before = now?.objectClasses ?? {};
  for (const [name, text] of Object.entries(own.classes.transferred ?? {})) {
    const { project: other, class: received } = otherClass(text);
    const first = firstNameOf(own.classes, name);
    const theirs = { project: other, classes: productionOf(other)?.objectClasses ?? {} };
    if (!transferAgrees(own, first, theirs))
      return (
        `The class ${name} is transferred to ${other}, whose production does not receive it. First deploy ${other} with ` +
        `object_classes: { received: { ${received}: { project: ${project}, class: ${name} } } } in its platform.yaml.`
      );
    if (next.release !== undefined && transferredTo(before, first) === null)
      return `A guarded release cannot transfer the class ${name}: its objects move at once. Deploy it without "release".`;
  }
  for (const [name, text] of Object.entries(before.received ?? {})) {
    const { project: other, class: transferred } = otherClass(text);
    const theirs = { project: other, classes: productionOf(other)?.objectClasses ?? {} };
    const first = firstNameOf(theirs.classes, transferred);
    if (transferAgrees(theirs, first, { project, classes: before }) && !transferAgrees(theirs, first, own))
      return (
        `The class ${name} has the objects that ${other} transferred, but this deployment does not receive them. Put ` +
        `"received" back into "object_classes" in platform.yaml, or first deploy ${other} with its class ${transferred} again.`
      );
  }
  return null;
}

/**
 * First names of classes that a deployment receives, but production did not: production's own objects of these classes
 * would be hidden.
 */
export function newlyReceived(now: DeclaredClasses, next: DeclaredClasses): string[] {
  const { objectClasses: classes = {} } = next;
  const firsts = Object.keys(classes.received ?? {}).map((name) => firstNameOf(classes, name));
  return firsts.filter((first) => receivedFrom(now.objectClasses ?? {}, first) === null);
}

/** Advice for objects that a received class would hide. */
export function hiddenObjects(first: string): string {
  return (
    `Production has durable objects of its own of the class ${first}, but platform.yaml lets it receive those of another ` +
    `project. Give the class of "object_classes.received" another name.`
  );
}
