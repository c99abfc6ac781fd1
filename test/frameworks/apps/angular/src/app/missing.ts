import { Component } from '@angular/core';

@Component({ selector: 'app-missing', template: '<h1>Nothing here</h1>' })
export class Missing {}
