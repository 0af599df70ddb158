// One place for the light's base frequency.
#define PWM_HZ 490
