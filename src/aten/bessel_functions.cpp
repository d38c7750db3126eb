// Bessel functions by Chebyshev series. The coefficients were computed with 40 digits (tools/gen_chebyshev.py); a
// series ends where its terms fall below 1e-17 of the greatest.
#include "aten/special_functions.hpp"

namespace torchlift::aten::formula {
namespace {

constexpr double kI0Small[] = {
    0.33839763720473804,    -0.3046826723431984,     0.17162090152220878,    -0.094901097048047644,
    0.049305284239670708,   -0.023737414805899469,   0.010546460394594998,   -0.0043243099950505759,
    0.0016394756169413358,  -0.00057637557453858237, 0.00018850288509584166, -5.7541950100821037e-5,
    1.6448448070728897e-5,  -4.4167383584587506e-6,  1.1173875391201037e-6,  -2.6707938539406117e-7,
    6.0469950225419189e-8,  -1.300025009986248e-8,   2.6598237246823867e-9,  -5.1897956016352629e-10,
    9.6758090353732369e-11, -1.7268262914415557e-11, 2.9550526631296398e-12, -4.8564467831119295e-13,
    7.6761854986049356e-14, -1.1685332877993452e-14, 1.715391285555133e-15,  -2.4312798465479547e-16,
    3.3307945188222381e-17, -4.4153416464793394e-18};
constexpr double kI0Large[] = {
    0.40224520550705442,     0.0033691164782556941,   6.889758346916824e-5,    2.8913705208347565e-6,
    2.0489185894690637e-7,   2.2666689904981781e-8,   3.3962320257083863e-9,   4.9406023882249696e-10,
    1.1889147107846438e-11,  -3.1499165279632414e-11, -1.3215811840447713e-11, -1.7941785315068061e-12,
    7.1801244513836662e-13,  3.8527783827421427e-13,  1.5400862175214098e-14,  -4.1505693472872221e-14,
    -9.5548466988283076e-15, 3.8116806693526224e-15,  1.7725601330565264e-15,  -3.4254856196772191e-16,
    -2.8276239805165835e-16, 3.4612228676974611e-17,  4.46562142029676e-17,    -4.8305044859441821e-18,
    -7.233180487874754e-18};
constexpr double kI1Small[] = {
    0.12629359322181683,    -0.17641651835783406,    0.1026436586898471,     -0.052945981208094991,
    0.024726449030626517,   -0.010564084894626198,   0.0041564229443128882,  -0.0015135724506312531,
    0.00051228595616857577, -0.00016176081582589675, 4.7815651075500542e-5,  -1.3273163656039436e-5,
    3.4702513081376785e-6,  -8.5687202646954547e-7,  2.0032947535521353e-7,  -4.4450591287963281e-8,
    9.3815373864957718e-9,  -1.8872497517228293e-9,  3.625590281552117e-10,  -6.6634897235020277e-11,
    1.1736186298890902e-11, -1.9839743977649437e-12, 3.2237933659455747e-13, -5.0421855047279117e-14,
    7.6006842947354069e-15, -1.1055969477353863e-15, 1.5536319577362005e-16, -2.1114212143581661e-17,
    2.7779141127610464e-18};
constexpr double kI1Large[] = {
    0.38928811750914006,     -0.0097610974913614684,  -0.00011058893876262372, -3.8825648088776904e-6,
    -2.5122362378702089e-7,  -2.6314688468895195e-8,  -3.835380385964237e-9,   -5.5897434621965838e-10,
    -1.8974958123505412e-11, 3.2526035830154882e-11,  1.4125807436613781e-11,  2.0356285441470895e-12,
    -7.1985517762459085e-13, -4.0835511110921973e-13, -2.1015418427726643e-14, 4.2724400167119514e-14,
    1.0420276984128803e-14,  -3.8144030724370078e-15, -1.8803547755107824e-15, 3.3082023109209283e-16,
    2.9626289976459501e-16,  -3.209525921993424e-17,  -4.6503053684893583e-17, 4.4143483230717079e-18,
    7.5172963108421048e-18};
constexpr double kJ0Small[] = {0.15772797147489012,     -0.0087234423528522213,  0.26517861320333681,
                               -0.37009499387264978,    0.15806710233209726,     -0.034893769411408885,
                               0.0048191800694676045,   -0.00046062616620627505, 3.2460328821005081e-5,
                               -1.7619469077621507e-6,  7.6081635924187819e-8,   -2.6792535305576729e-9,
                               7.8486963144794644e-11,  -1.9438346867370166e-12, 4.1253205956343739e-14,
                               -7.5885081254475463e-16, 1.2218515873961411e-17};
constexpr double kJ1Small[] = {
    0.081044846325658115,   -0.14897514506765211,    0.1609992623572097,     -0.082680491766817907,
    0.022213639654966035,   -0.003646940600769276,   0.00040503377283548218, -3.2555548668572585e-5,
    1.9858774049915167e-6,  -9.5219847567504362e-8,  3.6871337590971482e-9,  -1.1780266226958848e-10,
    3.1601545803480033e-12, -7.2217552396517734e-14, 1.4232144003513942e-15, -2.4441972916190464e-17};
constexpr double kY0Small[] = {-0.033146113203284942,   -0.27447430552974527,   0.17903431407718266,
                               0.26156734625504664,     -0.17730201278114358,   0.047196689595763387,
                               -0.0072879624795520792,  0.00075311359325777423, -5.632079141056987e-5,
                               3.206532537654801e-6,    -1.4407233274018699e-7, 5.2487947873305161e-9,
                               -1.5837552541812015e-10, 4.0263308183061208e-12, -8.7473412033107696e-14,
                               1.6434898714919469e-15,  -2.6977881152566836e-17};
constexpr double kY1Small[] = {
    0.0025380132357417817,   -0.01608717304766875,  -0.095912045360830742,   0.084451972596523458,
    -0.028328123944594366,   0.005289897544167113,  -0.0006414551451326356,  5.5059828733387438e-5,
    -3.5380800186893499e-6,  1.7707804556154403e-7, -7.1105500498992798e-9,  2.3443379059115164e-10,
    -6.4651518414115942e-12, 1.51429151205002e-13,  -3.0511859694473253e-15, 5.3466803857286701e-17};
constexpr double kP0[] = {0.99946034934751867,     -0.00053652204681321174, 3.0751847875194746e-6,
                          -5.1705945376060977e-8,  1.6306464635151383e-9,   -7.86409137723707e-11,
                          5.1682623873491925e-12,  -4.3045788699253912e-13, 4.3265957431549406e-14,
                          -5.0690340959352361e-15, 6.7480722157338737e-16,  -1.0011513723467786e-16,
                          1.6305919233744185e-17};
constexpr double kQ0[] = {-0.12444683684269607,    0.00054708159540893197, -5.9315987288485178e-6,
                          1.4377965798375193e-7,   -5.817532749493056e-9,  3.3760975237349908e-10,
                          -2.5653979367973078e-11, 2.404916100281365e-12,  -2.6690625482579416e-13,
                          3.4041800321963689e-14,  -4.87994410531204e-15,  7.7297031762426054e-16,
                          -1.3348852171502517e-16, 2.4865952389390515e-17, -4.9528926298865159e-18};
constexpr double kP1[] = {1.0009030408600137,      0.00089898983308594086,  -3.9872843004889085e-6,
                          6.1776339606442985e-8,   -1.8718907491063066e-9,  8.8168986595823389e-11,
                          -5.7048636403956447e-12, 4.6991955152305424e-13,  -4.6842237839904892e-14,
                          5.4526748960447172e-15,  -7.2211808422740179e-16, 1.0667689114335412e-16,
                          -1.7312313216116335e-17};
constexpr double kQ1[] = {0.3742222965562826,      -0.00077021788393256635, 7.3108922063643633e-6,
                          -1.6767825107266738e-7,  6.5833546621204433e-9,   -3.7490909505415562e-10,
                          2.8121750359748865e-11,  -2.6114525394623199e-12, 2.8774212663332234e-13,
                          -3.6490019160618378e-14, 5.2066263662267072e-15,  -8.2153180254585943e-16,
                          1.4141084390211833e-16,  -2.6267615898385292e-17, 5.2192649196714082e-18};
constexpr double kK0Small[] = {-0.26766369661695138,  0.34428989992462849,    0.035979936515361502,
                               0.0012646154114469259, 2.2862121031194518e-5,  2.5347910790261495e-7,
                               1.9045163772202089e-9, 1.0349695257633625e-11, 4.2598161427910826e-14,
                               1.3744654358807509e-16};
constexpr double kK0Large[] = {
    1.2201515410329777,     -0.031448101311964501,   0.0015698838857300534,  -0.00012849549581627803,
    1.3949813718876499e-5,  -1.8317555227191195e-6,  2.7668136394450151e-7,  -4.6604898976879477e-8,
    8.5740340174142261e-9,  -1.6975345093890615e-9,  3.5773972814003284e-10, -7.957489244477397e-11,
    1.8559491149549266e-11, -4.5145978833745192e-12, 1.1403405882073442e-12, -2.9800969231481784e-13,
    8.0328907750683744e-14, -2.2275133267462964e-14, 6.340076476276646e-15,  -1.8485933779209072e-15,
    5.5120559994043334e-16, -1.6782311257549006e-16, 5.2103917776435541e-17, -1.6475805939842633e-17};
constexpr double kK1Small[] = {0.76265011366947389,    -0.35315596077654488,    -0.12261118082265715,
                               -0.0069757238596398644, -0.00017302889575130521, -2.4334061415659682e-6,
                               -2.2133876307347259e-8, -1.4114883926335278e-10, -6.666901694199329e-13,
                               -2.4274498505193659e-15};
constexpr double kK1Large[] = {
    1.3603130952422213,      0.10392373657681724,    -0.0028578168596227794,  0.00019521551847135163,
    -1.936197974166083e-5,   2.4064849478372171e-6,  -3.5019606030878125e-7,  5.7410841254500493e-8,
    -1.0345762465678097e-8,  2.0150497551970346e-9,  -4.1903547593419256e-10, 9.2183151876053141e-11,
    -2.129967838427791e-11,  5.1396396734823435e-12, -1.2891739609498229e-12, 3.3484196660522431e-13,
    -8.9767051820101461e-14, 2.4771544242195987e-14, -7.0198370892147689e-15, 2.0387031662398609e-15,
    -6.0570472706430178e-16, 1.8380935752430454e-16, -5.6894628491936484e-17, 1.7940510478863573e-17};
constexpr double kAiryMiddle[] = {
    0.079810342570838957,    0.13358598577835649,     -0.12888154225314425,    -0.087762654940354687,
    -0.11786513948317262,    0.24940199188680289,     -0.035635245648797416,   -0.12552960424978642,
    0.076583208621532782,    0.0065398260996169349,   -0.023099786059506074,   0.0075040528747347117,
    0.0017030155672010565,   -0.0018479672739777941,  0.0003517624295647609,   0.00013635466079863891,
    -8.3087903603429441e-5,  8.8941578138616055e-6,   5.8841441609579061e-6,   -2.3886803324158514e-6,
    1.1078940909561706e-7,   1.625312951027347e-7,    -4.7480935940319926e-8,  -1.7549492285126168e-10,
    3.144514394466578e-9,    -6.8725287506876371e-10, -3.4321397163058989e-11, 4.5120269871187278e-11,
    -7.5050232749553629e-12, -7.3203913883352623e-13, 4.998060740578426e-13,   -6.3303957658841444e-14,
    -9.6384628506169737e-15, 4.4035192188005482e-15,  -4.1759243545597105e-16, -9.3169534606471595e-17,
    3.1579001128543589e-17};
constexpr double kAiryPositive[] = {
    0.27769560951170592,    -0.0041729675620459231,  0.00020669586013998012, -1.7280997841068206e-5,
    1.928052166797157e-6,   -2.6057743987762617e-7,  4.051516883512395e-8,   -7.0222404409862229e-9,
    1.3286081997701028e-9,  -2.7035580371292888e-10, 5.8522977828389983e-11, -1.3363584416519756e-11,
    3.1978547149289155e-12, -7.9768135595596025e-13, 2.0651347541109666e-13, -5.5289997821597799e-14,
    1.5261656190101811e-14, -4.3319793049558053e-15, 1.2616239319898748e-15, -3.7626070399357593e-16,
    1.1471616156264617e-16, -3.5701443651092083e-17, 1.1326462271400219e-17, -3.658761589006902e-18};
constexpr double kAiryP[] = {0.99980884773955313,     -0.00019041677962134862, 7.2679681684174446e-7,
                             -8.4854269675297963e-9,  1.9144545982950885e-10,  -6.7784939414051619e-12,
                             3.3456660796566523e-13,  -2.1345137724465702e-14, 1.6718079441151791e-15,
                             -1.5491724858625585e-16, 1.6524273492513009e-17};
constexpr double kAiryQ[] = {0.069251011227008604,    -0.00019199395713168296, 1.4144485007348916e-6,
                             -2.4076418454371363e-8,  7.0331354741880271e-10,  -3.0199171290130835e-11,
                             1.7348363656049099e-12,  -1.2527799137757002e-13, 1.0886384509119663e-14,
                             -1.1026771285105438e-15, 1.2709996936013433e-16,  -1.6365087007659017e-17,
                             2.3195560389025735e-18};

// c[0] T0(t) + c[1] T1(t) + ... by Clenshaw's recurrence.
Formula chebyshev(Formula t, std::span<const double> c) {
  Formula twice = t * 2.0;
  Formula above = t.like(0.0), here = t.like(0.0);
  for (size_t k = c.size() - 1; k > 0; --k) {
    Formula next = twice * here - above + c[k];
    above = here;
    here = next;
  }
  return t * here - above + c[0];
}

constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kSeam = 8;   // series in x or x^2 below, in 1/x or 1/x^2 above
constexpr double kSeamK = 2;  // the same for K

// The argument of a series over [0, b] in x, in x^2, and over [b, inf) in 1/x, in 1/x^2.
Formula of_x(Formula x, double b) { return x * (2 / b) - 1.0; }
Formula of_square(Formula x, double b) { return x * x * (2 / (b * b)) - 1.0; }
Formula of_inverse(Formula x, double b) { return 2 * b / x - 1.0; }
Formula of_inverse_square(Formula x, double b) { return 2 * b * b / (x * x) - 1.0; }

struct Oscillation {
  Formula p, q, sine, cosine, scale;  // 1 / sqrt(pi x) times P and Q / x in the phase x - pi/4 (order 0) or x - 3pi/4
};
// The sine and cosine of the phase, times sqrt(2), from those of x: x - pi/4 would be rounded.
Oscillation oscillation(Formula x, std::span<const double> p, std::span<const double> q, bool order1) {
  Formula u = of_inverse_square(x, kSeam), s = sin(x), c = cos(x);
  Formula sum = s + c, difference = s - c, scale = sqrt(1 / kPi / x);
  Formula sine = order1 ? -sum : difference, cosine = order1 ? difference : sum;
  return {chebyshev(u, p), chebyshev(u, q) / x, sine, cosine, scale};
}
// NaN at infinity, as in PyTorch.
Formula first_kind(const Oscillation& o) { return o.scale * (o.p * o.cosine - o.q * o.sine); }
Formula second_kind(const Oscillation& o) { return o.scale * (o.p * o.sine + o.q * o.cosine); }
Oscillation order0(Formula x) { return oscillation(x, kP0, kQ0, false); }
Oscillation order1(Formula x) { return oscillation(x, kP1, kQ1, true); }

Formula j0_small(Formula x) { return chebyshev(of_square(x, kSeam), kJ0Small); }
Formula j1_small(Formula x) { return x * chebyshev(of_square(x, kSeam), kJ1Small); }

Formula j0_64(Formula v) {
  Formula x = abs(v);
  return select(x <= kSeam, j0_small(x), first_kind(order0(x)));
}
Formula j1_64(Formula v) {
  Formula x = abs(v);
  Formula result = select(x <= kSeam, j1_small(x), first_kind(order1(x)));
  return select(v < 0.0, -result, result);
}

// -inf at zero, NaN below.
Formula second_kind_limits(Formula x, Formula result) {
  result = select(eq(x, 0.0), -kInfinity, result);
  return select(x < 0.0, kNaN, result);
}
Formula y0_64(Formula x) {
  Formula small = kTwoOverPi * log(x) * j0_small(x) + chebyshev(of_square(x, kSeam), kY0Small);
  return second_kind_limits(x, select(x <= kSeam, small, second_kind(order0(x))));
}
Formula y1_64(Formula x) {
  Formula small = kTwoOverPi * (log(x) * j1_small(x) - 1.0 / x) + x * chebyshev(of_square(x, kSeam), kY1Small);
  return second_kind_limits(x, select(x <= kSeam, small, second_kind(order1(x))));
}

Formula i0e_64(Formula v) {
  Formula x = abs(v);
  return select(x <= kSeam, chebyshev(of_x(x, kSeam), kI0Small), chebyshev(of_inverse(x, kSeam), kI0Large) / sqrt(x));
}
Formula i1e_64(Formula v) {
  Formula x = abs(v);
  Formula result =
      select(x <= kSeam, x * chebyshev(of_x(x, kSeam), kI1Small), chebyshev(of_inverse(x, kSeam), kI1Large) / sqrt(x));
  return select(v < 0.0, -result, result);
}

// +inf at zero, NaN below.
Formula modified_limits(Formula x, Formula result) {
  result = select(eq(x, 0.0), kInfinity, result);
  return select(x < 0.0, kNaN, result);
}
Formula k0e_64(Formula x) {
  Formula small = chebyshev(of_square(x, kSeamK), kK0Small) - log(x * 0.5) * i0e_64(x) * exp(x);
  Formula large = chebyshev(of_inverse(x, kSeamK), kK0Large) / sqrt(x);
  return modified_limits(x, select(x <= kSeamK, small * exp(x), large));
}
Formula k1e_64(Formula x) {
  Formula small = chebyshev(of_square(x, kSeamK), kK1Small) / x + log(x * 0.5) * i1e_64(x) * exp(x);
  Formula large = chebyshev(of_inverse(x, kSeamK), kK1Large) / sqrt(x);
  return modified_limits(x, select(x <= kSeamK, small * exp(x), large));
}

// The Airy function: one series over [-6, 2]; beyond it the asymptotic forms in zeta = 2/3 |x|^(3/2). PyTorch gives NaN
// at the infinities.
Formula airy_64(Formula v) {
  constexpr double kLow = -6, kHigh = 2, kZetaOfHigh = 1.8856180831641267317, kZetaOfLow = 9.7979589711327123928;
  constexpr double kInverseSqrtPi = 0.56418958354775628695;
  Formula middle = chebyshev((v - (kLow + kHigh) / 2) * (2 / (kHigh - kLow)), kAiryMiddle);
  Formula x = abs(v), root = sqrt(x);
  Formula zeta = x * root * (2.0 / 3), scale = sqrt(root);
  Formula decay = exp(-zeta) / scale * chebyshev(of_inverse(zeta, kZetaOfHigh), kAiryPositive);
  Formula u = of_inverse_square(zeta, kZetaOfLow), angle = zeta - kPi / 4;
  Formula wave =
      kInverseSqrtPi / scale * (cos(angle) * chebyshev(u, kAiryP) + sin(angle) * chebyshev(u, kAiryQ) / zeta);
  Formula result = select(v > kHigh, decay, select(v < kLow, wave, middle));
  return select(eq(x, kInfinity), kNaN, result);
}

}  // namespace

Formula airy_ai(Formula x) { return in_float64(x, airy_64); }

Formula bessel_j0(Formula x) { return in_float64(x, j0_64); }
Formula bessel_j1(Formula x) { return in_float64(x, j1_64); }
Formula bessel_y0(Formula x) { return in_float64(x, y0_64); }
Formula bessel_y1(Formula x) { return in_float64(x, y1_64); }

Formula i0e(Formula x) { return in_float64(x, i0e_64); }
Formula i1e(Formula x) { return in_float64(x, i1e_64); }
Formula i0(Formula x) {
  return in_float64(x, [](Formula v) { return exp(abs(v)) * i0e_64(v); });
}
Formula i1(Formula x) {
  return in_float64(x, [](Formula v) { return exp(abs(v)) * i1e_64(v); });
}

Formula k0e(Formula x) { return in_float64(x, k0e_64); }
Formula k1e(Formula x) { return in_float64(x, k1e_64); }
Formula k0(Formula x) {
  return in_float64(x, [](Formula v) { return exp(-v) * k0e_64(v); });
}
Formula k1(Formula x) {
  return in_float64(x, [](Formula v) { return exp(-v) * k1e_64(v); });
}

// sin(x) / x.
Formula spherical_j0(Formula x) {
  return in_float64(x, [](Formula v) {
    Formula result = select(eq(v, 0.0), 1.0, sin(v) / v);
    return select(eq(abs(v), kInfinity), 0.0, result);
  });
}

}  // namespace torchlift::aten::formula
