// Makes elements. What is shown is text: nothing here, nor anywhere in the dashboard, parses HTML.

/** What can stand in an element. */
export type Child = Node | string | number | null | undefined | false | readonly Child[];

type Attributes = Readonly<Record<string, string | number | boolean | null | undefined | ((event: never) => void)>>;

/**
 * An element: attributes by name, `onclick` and the like as listeners, true as an empty attribute; null and false are
 * left out.
 */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(key.slice(2), value as EventListener);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  append(made, children);
  return made;
}

/** Puts children into an element, in the place of those it has. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

function append(parent: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child as readonly Child[]);
    else parent.append(child instanceof Node ? child : String(child));
  }
}
