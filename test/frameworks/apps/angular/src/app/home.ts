import { Component, inject, signal } from '@angular/core';
import { ActivatedRoute } from '@angular/router';

@Component({
  selector: 'app-home',
  template: `
    <h1>Hello, {{ name }}</h1>
    <p>version one</p>
    <button (click)="count.set(count() + 1)">clicked {{ count() }} times</button>
  `,
})
export class Home {
  protected readonly count = signal(0);
  protected readonly name = inject(ActivatedRoute).snapshot.queryParamMap.get('name') ?? 'stranger';
}
